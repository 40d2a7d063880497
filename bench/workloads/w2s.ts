// W2s: like W2, every activity on one of a hundred sessions; as a share of W2 in the same process.

import type { Run } from "../subject.ts";
import { measureShare, sessionFive } from "../support/five-steps.ts";

export const run: Run = (setting) =>
  measureShare(setting, sessionFive, { maxSessionsPerRuntime: 100 });
