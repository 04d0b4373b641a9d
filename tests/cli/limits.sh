# Numbers that are none. Sourced by tests/cli/run.
# shellcheck shell=bash disable=SC2154

for value in 0 -1 abc '' 1x 1.2.3 1e9 999999999999 0.0000001 inf nan ' 5' '5 '; do
	refused "--timeout '$value' shows the accepted forms" '(300|1\.5|90s|5m|1h|none|30d)' run "--timeout=$value" -- touch ran
done
refused '--timeout -1 as two words' 'timeout' run --timeout -1 -- touch ran
for value in 0 -1 abc '' 1q 15m 99999t 1.2.3 2gg; do
	refused "--memory '$value'" 'memory' run "--memory=$value" -- touch ran
done
for value in 0 -1 abc 0.01 9999; do
	refused "--cpus $value" 'cpus' run "--cpus=$value" -- touch ran
done
for value in 0 -1 abc 1.5 7 99999999999999999999; do
	refused "--processes $value" 'processes' run "--processes=$value" -- touch ran
done
refused '--output 1' 'output' run --output 1 -- touch ran
refused '--network on' 'filtered' run --network on -- touch ran
refused '--publish 0' '65535|publish|port' run --publish 0 -- touch ran
refused '--env =x' 'env|variable' run --env =x -- touch ran
refused '--allow-domain with a scheme' 'example.com' run --network filtered --allow-domain https://example.com -- touch ran
