"""Sentences on either side of the rules for passwords, PINs and tokens, found by a reader."""

import pytest

from mnemic.secrets.policy import SecretPolicy

SECRETS = [
    "My pin is 4821 and my postal code is 8010.",
    "My card PIN: 4821. Zip code 94110.",
    "pin code: 4821 for the gate, area code 415",
    "Wifi pass: 48213377",
    "ssid=HomeNet pass=48213377",
    "Router admin / pass: 48213377",
    "FTP host ftp.x.io pass: 99887766",
    "VPN pass: k9x2",
    '["password", "hunter2xY"]',
    "<td>Password</td><td>hunter2xY</td>",
]
ORDINARY = [
    "tests pass: 1284",
    "ski pass: 340€",
    "PIN: 5821 is the postal code of the town",
    "Join: https://teams.microsoft.com/l/meetup-join/19:meeting_NTk1ZGQ0YTItMzM1Zi00ZjQyLTk0YzktMGNkYzA4ZGE1ZTIx@thread.v2/0",
    "$rules = ['password', 'required|min:8'];",
    "label('password', 'form-input-2')",
    'navigate("forgot-password", "step2")',
    '("password", "form-control-lg2")',
    "<li>password</li><li>username2</li>",
]


@pytest.mark.parametrize("text", SECRETS)
def test_a_secret_is_redacted_whatever_stands_beside_it(text):
    assert "[redacted: " in SecretPolicy().redacted(text)[0]


@pytest.mark.parametrize("text", ORDINARY)
def test_counts_rules_steps_and_links_stay(text):
    assert SecretPolicy().redacted(text) == (text, ())
