// Texts about a repair.

import type { Mark, Repair } from "../../api/types.ts";

export function repairWords({ kind, execution, before }: Repair): string {
  switch (kind) {
    case "rewind":
      return `Execution ${execution} rewound to before event ${before ?? 1}`;
    case "restart":
      return `Execution ${execution} run again from the start`;
    case "fork":
      return `Forked before event ${before ?? 1} of execution ${execution} of`;
  }
}

/** The repair that gave the outcome of this call, if an operator did. */
export function replacementOf(repairs: readonly Repair[], sequence: number): Repair | undefined {
  return repairs.findLast(({ replaced }) => replaced?.includes(sequence));
}

/** The repairs as marks of the timeline. */
export function repairMarks(repairs: readonly Repair[]): readonly Mark[] {
  return repairs.map((repair) => ({
    sequence: 1,
    kind: "Repair",
    at: repair.at,
    name:
      [repairWords(repair), ...(repair.by === undefined ? [] : [`by ${repair.by}`])].join(" ") +
      `: ${repair.reason}`,
  }));
}
