// Shows how an instance failed, or was cancelled or terminated.

import type { ReactElement } from "react";
import type { Ending } from "../api/types.ts";
import { Panel } from "../parts/panel.tsx";
import { FailureView } from "../values/failure-view.tsx";

const WORDS: Readonly<Record<Ending["kind"], string>> = {
  failed: "Failed",
  cancelled: "Cancelled",
  terminated: "Terminated",
};

export function EndingPanel({ ending }: { readonly ending: Ending }): ReactElement {
  const { kind, failure, compensationFailures = [] } = ending;
  return (
    <Panel title={WORDS[kind]} tone={kind === "failed" ? "danger" : "warn"}>
      <FailureView failure={failure} />
      {compensationFailures.map((each, index) => (
        <div key={index} className="failure-cause">
          <h3>A compensation also failed</h3>
          <FailureView failure={each} />
        </div>
      ))}
    </Panel>
  );
}
