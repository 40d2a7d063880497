// W2t: as W2, with timeouts and retries set on every activity; as a share of W2 in the same process.

import type { Run } from "../subject.ts";
import { guardedFive, measureShare } from "../support/five-steps.ts";

export const run: Run = (setting) => measureShare(setting, guardedFive);
