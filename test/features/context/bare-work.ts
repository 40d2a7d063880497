// A module for threads without services and middleware.

import { activity } from "../../../src/index.ts";

export const work = activity("work", () => 1);
