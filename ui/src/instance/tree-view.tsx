// A tree of an instance and its descendants. Large trees open level by level.

import { useState, type ReactElement } from "react";
import type { TreeShape } from "../api/types.ts";
import { plural } from "../parts/format.ts";
import { InstanceLink } from "../parts/instance-link.tsx";
import { AnyStatusBadge } from "../parts/status-badge.tsx";

const CHILDREN_FIRST = 50;
const OPEN_DEPTH = 3;

export function TreeView({
  node,
  current,
  depth,
}: {
  readonly node: TreeShape;
  readonly current: string;
  readonly depth: number;
}): ReactElement {
  const { id, status, children } = node;
  const [isOpen, setIsOpen] = useState(depth < OPEN_DEPTH);
  const [limit, setLimit] = useState(CHILDREN_FIRST);
  return (
    <li>
      <div className="row tree-row">
        <AnyStatusBadge status={status} />
        {id === current ? <strong className="mono wrap">{id}</strong> : <InstanceLink id={id} />}
        {children.length === 0 ? null : (
          <button
            type="button"
            className="button"
            data-kind="quiet"
            data-size="small"
            aria-expanded={isOpen}
            onClick={() => setIsOpen(!isOpen)}
          >
            {plural(children.length, "child", "children")}
          </button>
        )}
      </div>
      {children.length === 0 || !isOpen ? null : (
        <ul className="tree">
          {children.slice(0, limit).map((child) => (
            <TreeView key={child.id} node={child} current={current} depth={depth + 1} />
          ))}
          {children.length <= limit ? null : (
            <li>
              <button
                type="button"
                className="button"
                data-size="small"
                onClick={() => setLimit(limit * 10)}
              >
                {plural(children.length - limit, "more", "more")}
              </button>
            </li>
          )}
        </ul>
      )}
    </li>
  );
}
