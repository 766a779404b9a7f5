"""Slack: the only home of slack_bolt, slack_sdk and websocket.

Inward, ``link`` holds the Socket Mode connection (``line`` is the wire), ``app`` turns what people type and press (``hearing``) into lines for
the desk, and ``answers`` brings the replies back. Outward, ``voice`` speaks unasked. ``blocks`` turns replies into Block Kit, ``calls`` is one
call of Slack and what its errors mean, ``people`` knows names and zones, ``client`` makes the SDK's client.
"""

from bot.edges.slack.app import SlackApp
from bot.edges.slack.client import SlackSettings, make_client
from bot.edges.slack.link import Link, LinkError
from bot.edges.slack.people import SlackPeople
from bot.edges.slack.voice import SlackVoice

__all__ = ["Link", "LinkError", "SlackApp", "SlackPeople", "SlackSettings", "SlackVoice", "make_client"]
