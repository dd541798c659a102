// Sends a form's fields and returns the result: `ok`, `refused` (by a rule, with its code), `session` (it has ended),
// `page` (this page is out of date) or `away` (no connection, or the server cannot answer now).
export async function post(url, fields, { token, keepalive = false, send = fetch } = {}) {
  const body = new URLSearchParams();
  for (const [name, value] of [["csrfmiddlewaretoken", token], ...fields]) body.append(name, value);
  let reply;
  try {
    reply = await send(url, {
      method: "POST",
      body,
      keepalive,
      redirect: "follow",
      headers: { Accept: "application/json", "HX-Request": "true" },
    });
  } catch {
    return { kind: "away" };
  }
  if (reply.headers.get("HX-Redirect") || reply.status === 401) return { kind: "session" };
  const data = await json(reply);
  if (reply.ok && data) return { kind: "ok", data };
  if (reply.status >= 500 || reply.status === 429) return { kind: "away" };
  return data ? { kind: "refused", data } : { kind: "page" };
}

async function json(reply) {
  if (!reply.headers.get("Content-Type")?.includes("json")) return null;
  try {
    return await reply.json();
  } catch {
    return null;
  }
}
