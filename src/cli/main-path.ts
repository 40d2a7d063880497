// The path of the `perdure` entry file. Commands that start worker processes pass it to child_process.fork.

import { extname } from "node:path";
import { fileURLToPath } from "node:url";

// The extension is .ts in the repository and .js in the built package. Both hold main next to this file.
export const MAIN = fileURLToPath(new URL(`./main${extname(import.meta.url)}`, import.meta.url));
