// W2p: like W2, every activity with one of ten tags and one of five priorities; as a share of W2 in the same process.

import type { Run } from "../subject.ts";
import { measureShare, routedFive, routedRuntime } from "../support/five-steps.ts";

export const run: Run = (setting) => measureShare(setting, routedFive, routedRuntime);
