package android.app;

import android.service.notification.StatusBarNotification;

public class NotificationManager {
    public static final int IMPORTANCE_HIGH = 4;
    public static final int IMPORTANCE_DEFAULT = 3;
    public void createNotificationChannel(NotificationChannel channel) {}
    public NotificationChannel getNotificationChannel(String id) { return null; }
    public StatusBarNotification[] getActiveNotifications() { return null; }
    public boolean areNotificationsEnabled() { return true; }
    public void notify(String tag, int id, Notification notification) {}
    public void cancel(String tag, int id) {}
}
