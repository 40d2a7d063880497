// W8, `linear` submitted faster than it is done: thousands are in flight at a time.

import { linearAs } from "./linear.ts";

export const run = linearAs("flood");
