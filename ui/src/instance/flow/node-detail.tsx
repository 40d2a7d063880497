// The details of one node: its runs, each with input and output.

import { useState, type ReactElement } from "react";
import { definitionPath } from "../../../../src/flow/data/paths.ts";
import type { Span } from "../../api/types.ts";
import { plural } from "../../parts/format.ts";
import { Panel } from "../../parts/panel.tsx";
import { addressTo, useHashLocation } from "../../router/hash-location.ts";
import { NodeTable } from "./node-table.tsx";

const SHOWN = 50;

export function NodeDetail({
  id,
  execution,
  path,
  spans,
  onClose,
}: {
  readonly id: string;
  readonly execution: number;
  readonly path: string;
  readonly spans: readonly Span[];
  readonly onClose: () => void;
}): ReactElement {
  const { query } = useHashLocation();
  const [limit, setLimit] = useState(SHOWN);
  const own = spans.filter(({ node }) => {
    if (node === undefined) return false;
    const at = definitionPath(node);
    return at === path || at.replace(/\.(key|items|defer)$/, "") === path;
  });
  const timeline = new URLSearchParams({ tab: "timeline" });
  if (query.has("execution")) timeline.set("execution", String(execution));
  return (
    <Panel
      title={
        <>
          Node <span className="mono wrap">{path}</span>
        </>
      }
      isFlush
      tools={
        <>
          <a href={addressTo(["instances", id], timeline)}>Timeline</a>
          <button type="button" className="button" data-size="small" onClick={onClose}>
            Close
          </button>
        </>
      }
    >
      {own.length === 0 ? (
        <p className="panel-body muted">Not run yet.</p>
      ) : (
        <NodeTable spans={own.slice(0, limit)} />
      )}
      {own.length <= limit ? null : (
        <p className="panel-body">
          <button
            type="button"
            className="button"
            data-size="small"
            onClick={() => setLimit(limit * 10)}
          >
            {plural(own.length - limit, "more", "more")}
          </button>
        </p>
      )}
    </Panel>
  );
}
