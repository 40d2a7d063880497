// W2: 500 instances of five sequential activities, started at once. A repetition is the median of five rounds.

import type { Run } from "../subject.ts";
import { five, measureRounds } from "../support/five-steps.ts";

export const run: Run = (setting) => measureRounds(setting, five);
