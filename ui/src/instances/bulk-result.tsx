// The progress of a bulk action, and the instances that refused it.

import type { ReactElement } from "react";
import type { BulkAnswer } from "../api/types.ts";
import { formatCount, plural } from "../parts/format.ts";
import { InstanceLink } from "../parts/instance-link.tsx";

/** The refusals that are kept with their messages. */
export const REFUSED_SHOWN = 100;

export interface BulkProgress {
  readonly applied: number;
  readonly refusedCount: number;
  /** At most REFUSED_SHOWN. */
  readonly refused: BulkAnswer["refused"];
  /** How many instances refused, by code. */
  readonly codes: ReadonlyMap<string, number>;
  readonly isOver: boolean;
}

export const NO_PROGRESS: BulkProgress = {
  applied: 0,
  refusedCount: 0,
  refused: [],
  codes: new Map(),
  isOver: false,
};

export function withAnswer(progress: BulkProgress, answer: BulkAnswer): BulkProgress {
  const codes = new Map(progress.codes);
  for (const { code } of answer.refused) codes.set(code, (codes.get(code) ?? 0) + 1);
  return {
    applied: progress.applied + answer.applied,
    refusedCount: progress.refusedCount + answer.refusedCount,
    refused: [...progress.refused, ...answer.refused].slice(0, REFUSED_SHOWN),
    codes,
    isOver: answer.cursor === undefined,
  };
}

export function BulkResult({
  progress,
  total,
}: {
  readonly progress: BulkProgress;
  readonly total: number;
}): ReactElement {
  const { applied, refusedCount, isOver } = progress;
  return (
    <div className="stack">
      <label className="field">
        <span role="status">
          {isOver ? "" : `${formatCount(applied + refusedCount)} of `}
          {isOver ? plural(applied, "instance") + " done" : formatCount(total)}
          {refusedCount === 0 ? "" : `, ${formatCount(refusedCount)} refused`}
        </span>
        <progress
          className="bulk-progress"
          max={Math.max(total, applied + refusedCount, 1)}
          value={applied + refusedCount}
        />
      </label>
      <Refusals progress={progress} />
    </div>
  );
}

export function Refusals({
  title,
  progress: { refused, codes },
}: {
  readonly title?: string;
  readonly progress: BulkProgress;
}): ReactElement | null {
  if (refused.length === 0) return null;
  return (
    <section aria-label="Refused">
      {title === undefined ? null : <p role="status">{title}</p>}
      <p className="muted">
        {[...codes].map(([code, count]) => `${code}: ${formatCount(count)}`).join(", ")}
      </p>
      <ul className="refused" aria-label="Refused instances" tabIndex={0}>
        {refused.map(({ id, code, message }) => (
          <li key={id}>
            <InstanceLink id={id} /> <strong>{code}</strong> <span className="wrap">{message}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
