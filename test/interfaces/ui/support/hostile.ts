// Strings that would execute something if a page treated them as more than text.

const CALL = "globalThis.__ran=1";

const MARKUP = [
  `<script>${CALL}</script>`,
  `<img src=x onerror="${CALL}">`,
  `<svg onload="${CALL}">`,
  `<svg><script>${CALL}</script></svg>`,
  `<iframe srcdoc="<script>parent.__ran=1</script>">`,
  `<iframe src="javascript:${CALL}">`,
  `<body onload="${CALL}">`,
  `<details open ontoggle="${CALL}">x</details>`,
  `<video><source onerror="${CALL}"></video>`,
  `<audio src=x onerror="${CALL}">`,
  `<input autofocus onfocus="${CALL}">`,
  `<select autofocus onfocus="${CALL}">`,
  `<textarea autofocus onfocus="${CALL}">`,
  `<marquee onstart="${CALL}">`,
  `<object data="javascript:${CALL}">`,
  `<embed src="javascript:${CALL}">`,
  `<math href="javascript:${CALL}">x</math>`,
  `<form action="javascript:${CALL}"><input type=submit>`,
  `<isindex action="javascript:${CALL}">`,
  `<link rel=stylesheet href="javascript:${CALL}">`,
  `<meta http-equiv=refresh content="0;url=javascript:${CALL}">`,
  `<base href="https://evil.example/">`,
  `<style>@import "https://evil.example/x.css"</style>`,
  `<style onload="${CALL}"></style>`,
  `<template><img src=x onerror="${CALL}"></template>`,
  `<noscript><p title="</noscript><img src=x onerror=${CALL}>">`,
  `<!--><img src=x onerror="${CALL}">-->`,
  `<![CDATA[><img src=x onerror="${CALL}">]]>`,
  `<a href="javascript:${CALL}" autofocus>x</a>`,
  `<button formaction="javascript:${CALL}">x</button>`,
];
const BREAKOUTS = [
  `"><script>${CALL}</script>`,
  `'><script>${CALL}</script>`,
  `" onmouseover="${CALL}`,
  `' onfocus='${CALL}' autofocus='`,
  `</script><script>${CALL}</script>`,
  `</title><script>${CALL}</script>`,
  `</textarea><script>${CALL}</script>`,
  `</style><script>${CALL}</script>`,
  `-->${MARKUP[1] ?? ""}`,
  `]]>${MARKUP[1] ?? ""}`,
  `\\"><img src=x onerror=${CALL}>`,
  `\`-${CALL}-\``,
  `\${${CALL}}`,
  `{{constructor.constructor('${CALL}')()}}`,
  `#{${CALL}}`,
  `<%= ${CALL} %>`,
  `';${CALL};//`,
  `");${CALL};//`,
];
const ADDRESSES = [
  `javascript:${CALL}`,
  `JaVaScRiPt:${CALL}`,
  `java\tscript:${CALL}`,
  `\u0001javascript:${CALL}`,
  `data:text/html,<script>${CALL}</script>`,
  `data:text/html;base64,PHNjcmlwdD4xPC9zY3JpcHQ+`,
  `vbscript:${CALL}`,
  `blob:https://evil.example/x`,
  `//evil.example/x.js`,
  `https://evil.example/"onmouseover="${CALL}`,
  `https://evil.example/\u202egnp.exe`,
];
const SHAPES = [
  `&lt;script&gt;${CALL}&lt;/script&gt;`,
  `&#60;script&#62;${CALL}&#60;/script&#62;`,
  `%3Cscript%3E${CALL}%3C/script%3E`,
  `\\u003cscript\\u003e${CALL}\\u003c/script\\u003e`,
  `＜script＞${CALL}＜/script＞`,
  `<scr<script>ipt>${CALL}</scr</script>ipt>`,
  `<ScRiPt>${CALL}</sCrIpT>`,
  `<script/x>${CALL}</script>`,
  `<img/src=x/onerror=${CALL}>`,
  `<svg/onload=${CALL}//`,
  `\u2028${CALL}\u2029`,
  `__proto__`,
];

export const HOSTILE: readonly string[] = [...MARKUP, ...BREAKOUTS, ...ADDRESSES, ...SHAPES];
/** Without control characters, which ids may not have. */
export const HOSTILE_IDS: readonly string[] = HOSTILE.filter(
  (text) =>
    !/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(text) && Buffer.byteLength(text) <= 200,
);
