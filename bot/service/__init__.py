"""The middle of gpubot: the two doors (desk for people, rounds for time), the ports and every sentence."""
