// Prints why an instance is blocked: the lines of `blockDiff`, in colours.

import type { BlockReason } from "../../core/history/block.ts";
import { blockDiff } from "../../testing/block-diff.ts";
import { dim, green, red, type Screen } from "./screen.ts";

/** The length of the labels of the two sides, "- recorded" and "+ requested". */
const NAME_CHARS = "- recorded   ".length;

export function printBlock(screen: Screen, reason: BlockReason): void {
  const [first = "", ...sides] = blockDiff(reason);
  screen.line(red(`  ${reason.code}`), first.slice(reason.code.length));
  for (const line of sides) {
    if (line.startsWith("  at ")) screen.line(dim("    at "), line.slice("  at ".length));
    else {
      const colour = line.startsWith("+") ? green : red;
      screen.line(colour(`  ${line.slice(0, NAME_CHARS)}`), line.slice(NAME_CHARS));
    }
  }
}
