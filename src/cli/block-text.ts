// A block, for people: what is wrong and, for a divergence, both sides as a diff.

import type { BlockReason, CommandSketch } from "../core/block.ts";
import { dim, green, red, type Screen } from "./screen.ts";

export function tellBlock(screen: Screen, reason: BlockReason): void {
  const { code, message, sequence, recorded, requested, source } = reason;
  if (recorded === undefined && requested === undefined) {
    screen.line(red(`  ${code} `), message);
    return;
  }
  screen.line(red(`  ${code}`), ` at event ${sequence ?? "?"} of the history`);
  screen.line(red("  - recorded   "), recorded === null ? "nothing more" : sides(recorded));
  screen.line(green("  + requested  "), requested === null ? "nothing" : sides(requested));
  if (source !== undefined) screen.line(dim("    at "), source);
}

function sides(side: CommandSketch | undefined): string {
  if (side === undefined) return "?";
  const { kind, name, id, scheduled, input, since, session, tags } = side;
  return [
    kind,
    name === undefined ? "" : ` ${JSON.stringify(name)}`,
    scheduled === undefined ? "" : ` of event ${scheduled}`,
    id === undefined ? "" : ` as ${JSON.stringify(id)}`,
    input === undefined ? "" : ` with ${input}`,
    since === undefined ? "" : ` since ${since}`,
    session === undefined ? "" : ` in session ${JSON.stringify(session)}`,
    tags === undefined ? "" : ` with tags ${tags.join(", ")}`,
  ].join("");
}
