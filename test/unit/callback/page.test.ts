// The page that a link opens.

import { hash } from "node:crypto";
import { expect, test } from "vitest";
import { formPage, messagePage, STYLE_SOURCE } from "../../../src/callback/page.ts";

const HOSTILE = `"><script>alert(1)</script><img src=x onerror='alert(2)'>&amp;`;

test("every text of the page is escaped", () => {
  const page = formPage({
    fields: [[HOSTILE, HOSTILE]],
    texts: { lang: HOSTILE, title: HOSTILE, text: HOSTILE, button: HOSTILE },
  });
  expect(page).not.toMatch(/<script|<img/);
  expect(page.match(/&quot;&gt;&lt;script&gt;/g)).toHaveLength(9);
  expect(page).not.toMatch(/="[^"]*<|='/);
  expect(messagePage(HOSTILE, HOSTILE)).not.toMatch(/<script|<img/);
});

test("the page has a language, a title, one heading, one button, and its fields visible and hidden", () => {
  const page = formPage({
    fields: [["decision", "approve"]],
    texts: { title: "Confirm", text: "Please decide.", button: "Send" },
    expiresAt: new Date("2026-12-01T08:30:00Z"),
  });
  expect(page).toContain('<html lang="en">');
  expect(page).toContain("<title>Confirm</title>");
  expect(page.match(/<h1>/g)).toHaveLength(1);
  expect(page).toContain('<form method="post" action="?">');
  expect(page).toContain('<input type="hidden" name="decision" value="approve">');
  expect(page).toContain("<dt>decision</dt><dd>approve</dd>");
  expect(page).toContain('<button type="submit">Send</button>');
  expect(page).toContain('<time datetime="2026-12-01T08:30:00.000Z">2026-12-01 08:30 UTC</time>');
});

test("the policy names the hash of the page's only style", () => {
  const [, style = ""] = /<style>(.*)<\/style>/.exec(messagePage("a", "b")) ?? [];
  expect(STYLE_SOURCE).toBe(`'sha256-${hash("sha256", style, "base64")}'`);
});
