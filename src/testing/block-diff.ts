// Block diff: describes why an instance is blocked in lines of text; a divergence is shown as a diff.

import type { BlockReason, CommandSketch } from "../core/history/block.ts";

/**
 * The first line names the error code. `-` marks the recorded command, `+` the command that the code
 * requests.
 */
export function blockDiff(reason: BlockReason): readonly string[] {
  const { code, message, sequence, recorded, requested, source } = reason;
  if (recorded === undefined && requested === undefined) return [`${code} ${message}`];
  return [
    `${code} at event ${sequence ?? "?"} of the history`,
    `- recorded   ${recorded === null ? "nothing more" : sideText(recorded)}`,
    `+ requested  ${requested === null ? "nothing" : sideText(requested)}`,
    ...(source === undefined ? [] : [`  at ${source}`]),
  ];
}

function sideText(side: CommandSketch | undefined): string {
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
