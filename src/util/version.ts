/** The version of this package, for builds that cannot read package.json. A test keeps both equal. */
export const skeinVersion = '0.1.0';
