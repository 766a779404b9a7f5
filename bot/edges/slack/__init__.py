"""Slack: the only home of slack_bolt and slack_sdk.

``app`` turns what people type and press into lines for the desk, ``blocks`` turns replies into Block Kit, ``voice`` speaks unasked,
``people`` knows names and zones, ``link`` holds the Socket Mode connection. Wired together by :class:`SlackEdge`.
"""

from bot.edges.slack.app import SlackApp
from bot.edges.slack.client import SlackSettings, make_client
from bot.edges.slack.link import Link
from bot.edges.slack.people import SlackPeople
from bot.edges.slack.voice import SlackVoice

__all__ = ["Link", "SlackApp", "SlackPeople", "SlackSettings", "SlackVoice", "make_client"]
