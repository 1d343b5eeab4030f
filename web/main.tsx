import { render } from 'preact';
import { App } from './app.js';
import './style/base.css';
import './style/frame.css';
import './style/tables.css';
import './style/charts.css';
import './style/fields.css';
import './style/pictures.css';
import './style/layout.css';

render(<App />, document.getElementById('page') as HTMLElement);
