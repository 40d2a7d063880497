// Where the `perdure` command is, for those who start it again in another process.

import { extname } from "node:path";
import { fileURLToPath } from "node:url";

// The sources run as they are (.ts), the package as built (.js); the command lies beside this file in both.
export const MAIN = fileURLToPath(new URL(`./main${extname(import.meta.url)}`, import.meta.url));
