#!/usr/bin/env bash
# Installs Chromium for the tests of the site and the explorer, where there is none: scripts/browser.sh
#
# Needs Debian's or Ubuntu's apt and root. Without a browser those tests are skipped and say so;
# with CI=true they fail.
set -euo pipefail
for name in chromium chromium-browser google-chrome google-chrome-stable chrome; do
    if found=$(command -v "$name"); then echo "browser: $found is there"; exit 0; fi
done
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "browser: no Chromium, and only root on Debian or Ubuntu can install it here: install it by hand" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends chromium >/dev/null
echo "browser: installed $(command -v chromium)"
