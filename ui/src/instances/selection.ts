// The selection for a bulk action: some ids, or all instances that match the filter.

/** The most ids in one request. */
export const SELECTED_MAX = 1_000;

export type Selection =
  { readonly kind: "ids"; readonly ids: ReadonlySet<string> } | { readonly kind: "all" };

export const NO_SELECTION: Selection = { kind: "ids", ids: new Set() };

export function isSelected(selection: Selection, id: string): boolean {
  return selection.kind === "all" || selection.ids.has(id);
}

/** Adds or removes the id. If everything was selected, the new selection is this id only. */
export function toggled(selection: Selection, id: string): Selection {
  if (selection.kind === "all") return { kind: "ids", ids: new Set([id]) };
  const ids = new Set(selection.ids);
  if (!ids.delete(id) && ids.size < SELECTED_MAX) ids.add(id);
  return { kind: "ids", ids };
}
