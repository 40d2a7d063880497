// Shows a problem, with a button to try again.

import type { ReactElement } from "react";
import type { ApiProblem } from "../api/problem.ts";
import { Icon } from "./icon.tsx";

export function ProblemNote({
  problem,
  retry,
}: {
  readonly problem: ApiProblem;
  readonly retry?: () => void;
}): ReactElement {
  return (
    <div className="note" data-tone="danger" role="alert">
      <Icon name="warning" />
      <span className="grow">
        <strong>{problem.code}</strong> {problem.message}
      </span>
      {retry === undefined ? null : (
        <button type="button" className="button" data-size="small" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}
