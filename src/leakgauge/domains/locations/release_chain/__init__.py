"""From true counts to published counts: noise, rounding, clamping and suppression, with their exact noise distribution."""
