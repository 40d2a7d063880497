// The path prefix under which browsers reach the server. The page's `<base>`, the cookie's path and routing
// use it.
//   - The option `basePath` sets the prefix. Without it, the prefix is the part of the URL that the
//        framework removed before it called the server (Express and Connect keep the whole URL as
//        `originalUrl`), followed by the path of Hono's `app.route`.
//   - mount-path.1: With `basePath`, requests arrive with the prefix (Fastify) or without it (a proxy that
//        removes it). Both work.
//   - A prefix from a request can contain text of the caller: `app.use("/:tenant", …)`. The server uses
//        only plain path segments and ignores any other prefix, so that it cannot add an attribute to the
//        cookie or name another host.

import type { Context } from "hono";
import { basePath as pathOfRoute } from "hono/route";
import { getPath } from "hono/utils/url";
import { PerdureError } from "../../core/errors/errors.ts";
import { showValue } from "../../core/ids/ids.ts";

/** Path segments of characters that need no escaping in HTML or in a cookie. No segment is "." or "..". */
const PLAIN = /^(?:\/(?!\.{1,2}(?:\/|$))[\w.~!$'()*+=:@%-]+)+$/;

/** The option without a trailing slash. Null: the option was not given. */
export function checkBasePath(given: string | undefined): string | null {
  if (given === undefined) return null;
  const path = typeof given === "string" ? given.replace(/\/$/, "") : given;
  if (path === "" || (typeof path === "string" && PLAIN.test(path))) return path;
  const message = `basePath must be a path such as "/perdure"; got ${showValue(given)}.`;
  throw new PerdureError("INVALID_ARGUMENT", message);
}

/** The path that routes match: without `basePath`, if the request's path begins with it (mount-path.1). */
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

/** The prefix that a framework removed from the URL. `environment` contains Node's request. */
function removedPrefix(environment: unknown): string {
  const { incoming } = (environment ?? {}) as {
    incoming?: { readonly url?: unknown; readonly originalUrl?: unknown };
  };
  const { url, originalUrl } = incoming ?? {};
  if (typeof url !== "string" || typeof originalUrl !== "string") return "";
  const original = pathOf(originalUrl);
  const path = pathOf(url);
  // The framework passes a request for the mount path itself, without a trailing slash, as "/".
  if (path === "/") return withoutSlash(original);
  return original.endsWith(path) ? original.slice(0, original.length - path.length) : "";
}

function pathOf(url: string): string {
  return url.replace(/[?#].*$/s, "");
}

function withoutSlash(path: string): string {
  return path.endsWith("/") ? path.slice(0, -1) : path;
}
