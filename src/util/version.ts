/** The version of this package, for what runs where package.json cannot be read. A test keeps both equal. */
export const skeinVersion = '0.1.0';
