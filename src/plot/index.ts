/** Pictures as SVG text and in terminals. */
export { type BarChartOptions, type BarSeries, barChart } from './bar-chart.js';
export {
  type GraphChartEdge,
  type GraphChartNode,
  type GraphChartOptions,
  graphChart,
  relationSeries,
  seriesNames,
} from './graph-chart.js';
export { type Curve, type LineChartOptions, lineChart, smooth } from './line-chart.js';
export { type MatrixChartOptions, matrixChart } from './matrix-chart.js';
export {
  type ScatterChartOptions,
  type ScatterPoint,
  scatterChart,
  seriesOfOthers,
} from './scatter-chart.js';
export {
  type Schedule,
  type ScheduleCells,
  type ScheduleChartOptions,
  scheduleCells,
  scheduleChart,
} from './schedule-chart.js';
export { type Panel, picture } from './svg.js';
export { bar, sparkline } from './terminal.js';
