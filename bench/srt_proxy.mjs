// Starts srt's proxy as its library does for every command, and says where it listens.
//   node srt_proxy.mjs LIBRARY FOLDER DOMAIN…
import { pathToFileURL } from 'node:url';

const [library, folder, ...domains] = process.argv.slice(2);
const { SandboxManager } = await import(pathToFileURL(library));
await SandboxManager.initialize({
  network: { allowedDomains: domains, deniedDomains: [] },
  filesystem: { denyRead: [], allowWrite: [folder], denyWrite: [] },
});
await SandboxManager.waitForNetworkInitialization();
process.on('SIGTERM', () => SandboxManager.reset().finally(() => process.exit(0)));
setInterval(() => {}, 1 << 30); // its own listeners do not keep it alive
console.log(JSON.stringify({
  http: SandboxManager.getProxyPort(),
  socks: SandboxManager.getSocksProxyPort(),
  token: SandboxManager.getProxyAuthToken(),
}));
