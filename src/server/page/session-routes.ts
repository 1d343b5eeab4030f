/** Routes that open and close a session of the page. */
import { z } from '@hono/zod-openapi';
import type { Route } from '../routes.js';
import type { Sessions } from './sessions.js';

export function sessionRoutes(sessions: Sessions): Route[] {
  return [
    {
      ...{ method: 'get', path: '/login', tag: 'server', summary: 'Open the page with a link', answer: null },
      isHidden: true,
      handle: (context) => sessions.login(context),
    },
    {
      ...{ method: 'post', path: '/login', tag: 'server', summary: 'Make a link that opens the page once' },
      answer: z.object({ path: z.string() }).openapi('Login'),
      handle: (context) => context.json({ path: `${sessions.basePath}${sessions.newLink()}` }),
    },
    {
      ...{ method: 'post', path: '/logout', tag: 'server', summary: 'End the session of the page' },
      answer: z.looseObject({}),
      handle: (context) => {
        sessions.logout(context);
        return context.json({});
      },
    },
  ];
}
