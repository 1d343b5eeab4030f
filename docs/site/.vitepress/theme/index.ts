/** VitePress's theme without its fonts: the system's are used, and nothing is loaded from elsewhere. */
import theme from 'vitepress/theme-without-fonts';
import './style.css';

export default theme;
