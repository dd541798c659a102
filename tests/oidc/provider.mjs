// A small OpenID provider of the real kind, for the tests alone: whoever types a name is that person.
// Environment: PORT (0: any), ISSUER_PORT, REDIRECT_URI, CLIENT_ID, CLIENT_SECRET, PEOPLE (JSON: subject -> claims).
import Provider from "oidc-provider";

const { PORT, REDIRECT_URI, CLIENT_ID, CLIENT_SECRET, PEOPLE } = process.env;
const people = JSON.parse(PEOPLE);
const issuer = `http://127.0.0.1:${PORT}`;

const provider = new Provider(issuer, {
  clients: [{ client_id: CLIENT_ID, client_secret: CLIENT_SECRET, redirect_uris: [REDIRECT_URI] }],
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
  pkce: { required: () => true },
  findAccount: (_, sub) => people[sub] && { accountId: sub, claims: () => ({ sub, ...people[sub] }) },
  cookies: { keys: ["only for tests"] },
  features: { devInteractions: { enabled: true } },
});
provider.listen(Number(PORT), "127.0.0.1", () => console.log(`listening on ${issuer}`));
