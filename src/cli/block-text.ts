// A block, for people: the same lines as in a test's report, in colours.

import type { BlockReason } from "../core/block.ts";
import { blockDiff } from "../testing/block-diff.ts";
import { dim, green, red, type Screen } from "./screen.ts";

/** How long the names of the two sides are. */
const NAME_CHARS = "- recorded   ".length;

export function tellBlock(screen: Screen, reason: BlockReason): void {
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
