// W2t: as W2, with time-outs and retries set on every activity.

import type { Run } from "../subject.ts";
import { guardedFive, measureRounds } from "./five-steps.ts";

export const run: Run = (setting) => measureRounds(setting, guardedFive);
