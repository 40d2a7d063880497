// The prefix below which browsers reach the server: for the page's `<base>`, the path of the cookie, and routing.
//   MP1. The option `basePath` decides. Without it, the prefix is what the framework removed from the URL before it
//        called the server (Express and Connect keep the whole URL as `originalUrl`), followed by the path of
//        Hono's `app.route`.
//   MP2. With `basePath`, requests arrive with the prefix (Fastify) or without it (a proxy that removes it). Both work.
//   MP3. A prefix from a request can contain text of the caller: `app.use("/:tenant", …)`. Only plain path segments are
//        used. Any other prefix is ignored, so that it cannot add an attribute to the cookie or name another host.

import type { Context } from "hono";
import { basePath as pathOfRoute } from "hono/route";
import { getPath } from "hono/utils/url";
import { PerdureError } from "../core/errors.ts";
import { showValue } from "../core/ids.ts";

/** Segments of characters that need no escaping in HTML or in a cookie, none of which is "." or "..". */
const PLAIN = /^(?:\/(?!\.{1,2}(?:\/|$))[\w.~!$'()*+=:@%-]+)+$/;

/** The option without a slash at its end; null: not given. */
export function checkBasePath(given: string | undefined): string | null {
  if (given === undefined) return null;
  const path = typeof given === "string" ? given.replace(/\/$/, "") : given;
  if (path === "" || (typeof path === "string" && PLAIN.test(path))) return path;
  const message = `basePath must be a path such as "/perdure"; got ${showValue(given)}.`;
  throw new PerdureError("INVALID_ARGUMENT", message);
}

/** The path that routes are matched with: below `basePath`, if the request's path begins with it (MP2). */
export function pathBelow(basePath: string | null): (request: Request) => string {
  return (request) => {
    const path = getPath(request);
    if (basePath === null || basePath === "") return path;
    if (path === basePath) return "/";
    return path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : path;
  };
}

export interface Mount {
  /** The prefix that browsers see: "" or such as "/perdure". */
  readonly base: string;
  /** The request's path below the server. */
  readonly path: string;
}

export function mountOf(context: Context, basePath: string | null): Mount {
  const route = withoutSlash(pathOfRoute(context));
  const path = context.req.path.slice(route.length);
  if (basePath !== null) return { base: basePath, path };
  const base = removedPrefix(context.env) + route;
  return { base: PLAIN.test(base) ? base : "", path };
}

/** What a framework has removed from the beginning of the URL; `environment` holds Node's request. */
function removedPrefix(environment: unknown): string {
  const { incoming } = (environment ?? {}) as {
    incoming?: { readonly url?: unknown; readonly originalUrl?: unknown };
  };
  const { url, originalUrl } = incoming ?? {};
  if (typeof url !== "string" || typeof originalUrl !== "string") return "";
  const original = pathOf(originalUrl);
  const path = pathOf(url);
  // A request for the mount path itself, without a slash, is passed on as "/".
  if (path === "/") return withoutSlash(original);
  return original.endsWith(path) ? original.slice(0, original.length - path.length) : "";
}

function pathOf(url: string): string {
  return url.replace(/[?#].*$/s, "");
}

function withoutSlash(path: string): string {
  return path.endsWith("/") ? path.slice(0, -1) : path;
}
