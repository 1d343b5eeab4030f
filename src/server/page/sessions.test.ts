/** Links that open the page: each works once and not for ever, and the cookie is for browsers' pages of this server only. */
import { Hono } from 'hono';
import { expect, it } from 'vitest';
import { HttpError } from '../http-error.js';
import { Sessions } from './sessions.js';

const minute = 60_000;

function makeApp(basePath = '') {
  const clock = { now: 1_000_000 };
  const sessions = new Sessions(basePath, () => clock.now);
  const app = new Hono()
    .get('/login', (context) => sessions.login(context))
    .get('/open', (context) => context.text(String(sessions.isOpen(context))))
    .post('/logout', (context) => {
      sessions.logout(context);
      return context.text('');
    });
  app.onError((error, context) => context.text(error.message, error instanceof HttpError ? 401 : 500));
  return { app, sessions, clock };
}

/** Returns the cookie that an answer sets, without its attributes. */
const cookieOf = (answer: Response): string => (answer.headers.get('set-cookie') ?? '').split(';')[0];

async function isOpen(app: Hono, cookie: string): Promise<boolean> {
  return (await (await app.request('/open', { headers: { cookie } })).text()) === 'true';
}

it('opens the page once, with a cookie that scripts and other sites do not get', async () => {
  const { app, sessions } = makeApp('/skein');
  const link = sessions.newLink();
  const answer = await app.request(link);
  expect([answer.status, answer.headers.get('referrer-policy')]).toEqual([200, 'no-referrer']);
  const attributes = (answer.headers.get('set-cookie') ?? '').split('; ').slice(1);
  expect(attributes.sort()).toEqual(['HttpOnly', 'Max-Age=2592000', 'Path=/skein/', 'SameSite=Strict']);
  expect(await isOpen(app, cookieOf(answer))).toBe(true);
  expect(await isOpen(app, `${cookieOf(answer)}x`)).toBe(false);
  const again = await app.request(link);
  expect([again.status, again.headers.get('set-cookie')]).toEqual([401, null]);
  expect(await again.text()).toMatch(/^expected a link that has not been used, got one that was used/);
  const read = await app.request(link, { headers: { accept: 'text/html' } });
  expect([read.status, await read.text()]).toEqual([401, expect.stringContaining('<p>This link was used')]);
});

it('sends the cookie over TLS only, if the page is opened over TLS', async () => {
  const { app, sessions } = makeApp();
  const answer = await app.request(`https://skein.example${sessions.newLink()}`);
  expect(answer.headers.get('set-cookie')).toMatch(/; Secure/);
});

it('has cookies of their own for two servers on one host', async () => {
  const { app, sessions } = makeApp();
  const names: string[] = [];
  for (const port of [8080, 8088])
    names.push(cookieOf(await app.request(`http://host:${port}${sessions.newLink()}`)).split('=')[0]);
  expect(names).toEqual(['skein_session_8080', 'skein_session_8088']);
});

it('forgets links after a quarter of an hour, and sessions after a month', async () => {
  const { app, sessions, clock } = makeApp();
  const [first, second] = [sessions.newLink(), sessions.newLink()];
  clock.now += 15 * minute;
  const cookie = cookieOf(await app.request(first));
  expect(await isOpen(app, cookie)).toBe(true);
  clock.now += 1;
  expect((await app.request(second)).status).toBe(401);
  clock.now += 30 * 24 * 60 * minute;
  expect(await isOpen(app, cookie)).toBe(false);
});

it('ends a session, and refuses codes that were never given', async () => {
  const { app, sessions } = makeApp();
  const cookie = cookieOf(await app.request(sessions.newLink()));
  const ended = await app.request('/logout', { method: 'POST', headers: { cookie } });
  expect(ended.headers.get('set-cookie')).toMatch(/Max-Age=0/);
  expect(await isOpen(app, cookie)).toBe(false);
  for (const path of ['/login', '/login?code=', '/login?code=x', `/login?code=${'x'.repeat(9000)}`])
    expect((await app.request(path)).status).toBe(401);
});

it('keeps the latest hundred links, so that requests for links cannot fill the memory', async () => {
  const { app, sessions } = makeApp();
  const links = Array.from({ length: 101 }, () => sessions.newLink());
  expect((await app.request(links[0])).status).toBe(401);
  expect((await app.request(links[1])).status).toBe(200);
});
