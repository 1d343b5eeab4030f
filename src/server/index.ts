/** HTTP servers over trained models. */
export { type RunningServer, type ServeOptions, serveTemporal } from './serve-temporal.js';
export { type TemporalAppOptions, temporalApp } from './temporal-app.js';
