// The location of the user, from the fragment of the address: `#/instances/order-1?tab=history`.
//   - The address is the only source of page, filter, tab and selection.
//   - The location is in the fragment, so that the server has to serve only one page and can be mounted on
//        any path.

import { useSyncExternalStore } from "react";

export interface HashLocation {
  /** The decoded segments of the path. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

let hash = "";
let location: HashLocation = { path: [], query: new URLSearchParams() };
const listeners = new Set<() => void>();

window.addEventListener("hashchange", notify);

export function useHashLocation(): HashLocation {
  return useSyncExternalStore(subscribe, currentLocation);
}

export function currentLocation(): HashLocation {
  if (window.location.hash !== hash) {
    hash = window.location.hash;
    location = parse(hash);
  }
  return location;
}

/** The address of a location, for links. */
export function addressTo(path: readonly string[], query: URLSearchParams | null = null): string {
  const text = query === null ? "" : query.toString();
  return `#/${path.map(encodeURIComponent).join("/")}${text === "" ? "" : `?${text}`}`;
}

export function go(address: string, options: { readonly replace?: boolean } = {}): void {
  if (options.replace === true) window.history.replaceState(null, "", address);
  else window.history.pushState(null, "", address);
  notify();
}

/** Changes parts of the query and keeps the path. Null removes a parameter. */
export function setQuery(
  changes: Readonly<Record<string, string | readonly string[] | null>>,
  options: { readonly replace?: boolean } = { replace: true },
): void {
  // Uses the current location: the calling component may have rendered with an earlier one.
  const { path, query } = currentLocation();
  const next = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    next.delete(name);
    if (value === null || value === "") continue;
    for (const each of typeof value === "string" ? [value] : value) next.append(name, each);
  }
  go(addressTo(path, next), options);
}

function parse(text: string): HashLocation {
  const [path = "", query = ""] = splitOnce(text.replace(/^#\/?/, ""), "?");
  const parts = path.split("/").filter((part) => part !== "");
  return { path: parts.map(decode), query: new URLSearchParams(query) };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // an invalid escape, typed by the user
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

function notify(): void {
  for (const listener of listeners) listener();
}
