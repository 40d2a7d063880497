// The bar with the bulk actions for the selected instances.

import { useState, type ReactElement } from "react";
import { instances } from "../api/endpoints.ts";
import { useSession, whyNot } from "../api/session.ts";
import { plural } from "../parts/format.ts";
import { BULK_ACTIONS, type BulkAction } from "./bulk-actions.ts";
import { BulkDialog } from "./bulk-dialog.tsx";
import type { Filter } from "./filter.ts";
import { NO_SELECTION, SELECTED_MAX, type Selection } from "./selection.ts";

export function BulkBar({
  filter,
  count,
  selection,
  onSelect,
  onDone,
}: {
  readonly filter: Filter;
  readonly count: number | undefined;
  readonly selection: Selection;
  readonly onSelect: (update: (before: Selection) => Selection) => void;
  readonly onDone: () => void;
}): ReactElement {
  const session = useSession();
  // With the filter: the selection is cleared when the action is over, while the dialog may still show the refusals.
  const [open, setOpen] = useState<{ action: BulkAction; filter: Filter } | null>(null);
  const isAll = selection.kind === "all";
  const chosen = selection.kind === "all" ? (count ?? 0) : selection.ids.size;
  const meant = selection.kind === "all" ? filter : { ids: [...selection.ids] };
  return (
    <div className="bulk-bar" role="toolbar" aria-label="Bulk actions">
      <label className="row">
        <input
          type="checkbox"
          className="checkbox"
          checked={isAll}
          disabled={count === undefined || count === 0}
          onChange={() => onSelect(() => (isAll ? NO_SELECTION : { kind: "all" }))}
        />
        {chosen === 0 ? "Select all that match" : `${plural(chosen, "instance")} selected`}
      </label>
      {chosen === 0 ? null : (
        <>
          {BULK_ACTIONS.map((each) => {
            const refusal = whyNot(session, each.role);
            return (
              <button
                key={each.id}
                type="button"
                className="button"
                data-size="small"
                data-kind={each.isDangerous ? "danger" : undefined}
                disabled={refusal !== null}
                title={refusal ?? each.does}
                onClick={() => setOpen({ action: each, filter: meant })}
              >
                {each.title}
              </button>
            );
          })}
          <button
            type="button"
            className="button"
            data-kind="quiet"
            data-size="small"
            onClick={() => onSelect(() => NO_SELECTION)}
          >
            Clear selection
          </button>
          {selection.kind === "ids" && chosen >= SELECTED_MAX ? (
            <span className="hint">At most {SELECTED_MAX} can be selected by hand.</span>
          ) : null}
        </>
      )}
      {open === null ? null : (
        <BulkDialog
          action={open.action}
          send={(body) => instances.bulk(open.action.id, { filter: open.filter, ...body })}
          onClose={() => setOpen(null)}
          onDone={() => {
            onSelect(() => NO_SELECTION);
            onDone();
          }}
        />
      )}
    </div>
  );
}
