// Where the user is, as the address says: `#/instances/order-1?tab=history`.
//   HL1. The address is the truth: every page, filter, tab and selection is in it, and nothing else decides them.
//   HL2. Behind the `#`, so that the server needs to know one page only and may be mounted anywhere.

import { useSyncExternalStore } from "react";

export interface Place {
  /** Decoded parts of the path. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

let hash = "";
let place: Place = { path: [], query: new URLSearchParams() };
const listeners = new Set<() => void>();

window.addEventListener("hashchange", tell);

export function usePlace(): Place {
  return useSyncExternalStore(subscribe, currentPlace);
}

export function currentPlace(): Place {
  if (window.location.hash !== hash) {
    hash = window.location.hash;
    place = parse(hash);
  }
  return place;
}

/** The address of a place, for links. */
export function addressTo(path: readonly string[], query: URLSearchParams | null = null): string {
  const text = query === null ? "" : query.toString();
  return `#/${path.map(encodeURIComponent).join("/")}${text === "" ? "" : `?${text}`}`;
}

export function go(address: string, options: { readonly replace?: boolean } = {}): void {
  if (options.replace === true) window.history.replaceState(null, "", address);
  else window.history.pushState(null, "", address);
  tell();
}

/** Stays at this place and changes some of its query; null takes a member away. */
export function setQuery(
  changes: Readonly<Record<string, string | readonly string[] | null>>,
  options: { readonly replace?: boolean } = { replace: true },
): void {
  // Of where the user is now: the component that asks may know an earlier place.
  const { path, query } = currentPlace();
  const next = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    next.delete(name);
    if (value === null || value === "") continue;
    for (const each of typeof value === "string" ? [value] : value) next.append(name, each);
  }
  go(addressTo(path, next), options);
}

function parse(text: string): Place {
  const [path = "", query = ""] = splitOnce(text.replace(/^#\/?/, ""), "?");
  const parts = path.split("/").filter((part) => part !== "");
  return { path: parts.map(decode), query: new URLSearchParams(query) };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // typed by hand
  }
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function tell(): void {
  for (const listener of listeners) listener();
}
