// Shows an error: its message, kind, stack and the chain of its causes.

import type { ReactElement } from "react";
import type { CauseShape, FailureShape } from "../api/types.ts";
import { CopyButton } from "../parts/copy-button.tsx";
import { StackView } from "./stack-view.tsx";
import { ValueView } from "./value-view.tsx";

const CAUSES_MAX = 20;

export function FailureView({
  failure,
  depth = 0,
}: {
  readonly failure: FailureShape;
  readonly depth?: number;
}): ReactElement {
  const { name, message, stack, data, thrown, cause, errors = [] } = failure;
  const facts = [failure.code, failure.kind, failure.category, failure.type].filter(
    (fact) => fact !== undefined,
  );
  return (
    <div className="failure">
      <div className="failure-head">
        <p className="failure-message">
          <strong>{name}</strong>: {message}
        </p>
        <CopyButton text={stack ?? `${name}: ${message}`} label="Copy the error" />
      </div>
      <div className="tags">
        {[...new Set(facts)].map((fact) => (
          <span key={fact} className="tag">
            {fact}
          </span>
        ))}
        {failure.retryable ? null : <span className="tag">not retried</span>}
      </div>
      {stack === undefined ? null : <StackView stack={stack} />}
      {data === undefined ? null : <ValueView value={data} label="the error's properties" />}
      {thrown === undefined ? null : <ValueView value={thrown} label="what was thrown" />}
      {cause === undefined || depth >= CAUSES_MAX ? null : (
        <Cause title="Caused by" cause={cause} depth={depth} />
      )}
      {depth >= CAUSES_MAX
        ? null
        : errors.map((each, index) => (
            <Cause
              key={index}
              title={`Error ${index + 1} of ${errors.length}`}
              cause={each}
              depth={depth}
            />
          ))}
    </div>
  );
}

function Cause({
  title,
  cause,
  depth,
}: {
  readonly title: string;
  readonly cause: CauseShape;
  readonly depth: number;
}): ReactElement {
  return (
    <div className="failure-cause">
      <h3>{title}</h3>
      {"name" in cause ? (
        <FailureView failure={cause} depth={depth + 1} />
      ) : (
        <ValueView value={cause.value} label="the cause" />
      )}
    </div>
  );
}
