package android.app;

import android.content.Context;
import android.graphics.Bitmap;

public class Notification {
    public static abstract class Style {}
    public static class BigTextStyle extends Style {
        public BigTextStyle bigText(CharSequence text) { return this; }
    }
    public static class BigPictureStyle extends Style {
        public BigPictureStyle bigPicture(Bitmap picture) { return this; }
    }
    public static class Builder {
        public Builder(Context context, String channel) {}
        public Builder setSmallIcon(int icon) { return this; }
        public Builder setContentTitle(CharSequence text) { return this; }
        public Builder setContentText(CharSequence text) { return this; }
        public Builder setStyle(Style style) { return this; }
        public Builder setLargeIcon(Bitmap picture) { return this; }
        public Builder setGroup(String group) { return this; }
        public Builder setAutoCancel(boolean cancels) { return this; }
        public Builder setContentIntent(PendingIntent intent) { return this; }
        public Builder setDeleteIntent(PendingIntent intent) { return this; }
        public Notification build() { throw new UnsupportedOperationException(); }
    }
}
