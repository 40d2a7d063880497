// The release of Perdure that this code belongs to. Every row of history that it writes names it.

/** The version of the package. A test compares it with package.json. */
export const RELEASE = "0.1.0";
