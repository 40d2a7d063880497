// W1s's limit: like W1's, without task rows: an inline step runs in its instance's process.

import type { Run } from "../subject.ts";
import { measureInARow } from "./w1.ts";

export const run: Run = (setting) =>
  measureInARow(setting, (key, index, ended) => ({
    ...{ kind: "turn", key, first: 1 + 2 * index, ended },
  }));
