package com.google.firebase.messaging;

import java.util.Map;

public final class RemoteMessage {
    public Map<String, String> getData() { throw new UnsupportedOperationException(); }
    public String getCollapseKey() { return null; }
}
