// The answers of callbacks and webhooks: one table of their statuses.
//   - A program gets JSON, and for an error a problem document (RFC 9457). A browser, which accepts text/html, gets a page.
//   - answers.1: Everything that is not found gets the same answer: a forged, malformed or foreign token, an unknown
//        webhook, an unknown path. The answer does not say which of them it was (S37, S40).
//   - Every answer forbids caching, indexing, framing, scripts and referrers, because addresses contain tokens.

import { messagePage, STYLE_SOURCE } from "./page.ts";

/** Every answer, with its status, and its title for people. */
export const ANSWERS = {
  completed: [200, "Thank you. Your answer was recorded."],
  failed: [200, "The failure was recorded."],
  extended: [200, "The heartbeat was recorded."],
  started: [200, "The event was received."],
  ignored: [200, "The event was received and starts nothing."],
  replied: [200, "The request was answered."],
  accepted: [202, "Thank you. Your answer was received and will be checked."],
  BODY_INVALID: [400, "The request cannot be read."],
  SIGNATURE_INVALID: [401, "The signature is not valid."],
  NOT_FOUND: [404, "There is nothing at this address."],
  BODY_SLOW: [408, "The request did not arrive in time."],
  CALLBACK_CLOSED: [410, "The instance no longer waits for this call."],
  BODY_TOO_LARGE: [413, "The request is too large."],
  VALUE_REFUSED: [422, "The answer was refused."],
  RATE_LIMITED: [429, "There are too many requests. Try again later."],
  INTERNAL: [500, "An unexpected error occurred. Try again later."],
  UNAVAILABLE: [503, "The service is not available at the moment. Try again later."],
  TIMEOUT: [504, "It is not known whether the answer was recorded. Try again."],
} as const satisfies Readonly<Record<string, readonly [status: number, title: string]>>;

export type AnswerCode = keyof typeof ANSWERS;

/** An answer that ends a request. */
export interface Answer {
  readonly code: AnswerCode;
  /** What the sender must change. Default: the title. */
  readonly detail?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as plain text instead of JSON or a page. */
  readonly text?: string;
}

/** Thrown where a request is refused. */
export class Refused extends Error {
  readonly answer: Answer;

  constructor(answer: Answer) {
    super(answer.detail ?? ANSWERS[answer.code][1]);
    this.name = "Refused";
    this.answer = answer;
  }
}

const HEADERS: Readonly<Record<string, string>> = {
  "Cache-Control": "no-store",
  "Content-Security-Policy": [
    "default-src 'none'",
    `style-src ${STYLE_SOURCE}`,
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; "),
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  Vary: "Accept",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "X-Robots-Tag": "noindex, nofollow",
};

export function responseTo(request: Request, answer: Answer): Response {
  const [status, title] = ANSWERS[answer.code];
  const { code, detail, headers = {} } = answer;
  if (answer.text !== undefined) return send(status, "text/plain", answer.text, headers);
  if (acceptsHtml(request)) return page(messagePage(title, detail ?? ""), status, headers);
  const problem = {
    type: `urn:perdure:problem:${code}`,
    title,
    status,
    code,
    detail: detail ?? title,
  };
  return status < 400
    ? send(status, "application/json", JSON.stringify({ status: code }), headers)
    : send(status, "application/problem+json", JSON.stringify(problem), headers);
}

export function page(
  html: string,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return send(status, "text/html", html, headers);
}

function send(
  status: number,
  type: string,
  body: string,
  headers: Readonly<Record<string, string>>,
): Response {
  const typed = { ...HEADERS, ...headers, "Content-Type": `${type}; charset=utf-8` };
  return new Response(body, { status, headers: typed });
}

function acceptsHtml(request: Request): boolean {
  return /(?:^|,)\s*text\/html\s*(?:[,;]|$)/i.test(request.headers.get("accept") ?? "");
}
