package com.google.firebase.messaging;

import java.util.Map;

public final class RemoteMessage {
    public Map<String, String> getData() { throw new UnsupportedOperationException(); }
    public String getCollapseKey() { return null; }
    public Notification getNotification() { return null; }
    public static class Notification {
        public String getTag() { return null; }
    }
}
