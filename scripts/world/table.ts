// How verdicts are shown: a block per programme while they run, and a table at the end.

import { seconds } from "./programme.ts";
import type { Verdict } from "./verdict.ts";

/** A programme with its rules, as text. */
export function describeVerdict({ programme, store, verdict, figure, rules }: Verdict): string {
  return [
    `${programme}, ${store}: ${verdict}. ${figure}`,
    ...rules.map(
      ({ rule, holds, found }) =>
        `  ${holds ? "✓" : "✗"} ${rule}${holds ? "" : ` (found: ${found})`}`,
    ),
  ].join("\n");
}

/** All verdicts as a Markdown table. */
export function tableOf(verdicts: readonly Verdict[]): string {
  const rows = [
    ["programme", "store", "verdict", "figure", "took"],
    ["---", "---", "---", "---", "---"],
    ...verdicts.map(({ programme, store, verdict, figure, tookMs }) => [
      programme,
      store,
      verdict,
      figure,
      seconds(tookMs),
    ]),
  ];
  return rows.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}
